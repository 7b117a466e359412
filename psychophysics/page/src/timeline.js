// The jsPsych timeline of a session. What comes next is always what the state of the server says.

import { initJsPsych } from "jspsych";
import { Confirmed } from "./plugins/confirmed.js";
import { Instructions } from "./plugins/instructions.js";
import { Interlude } from "./plugins/interlude.js";
import { OcclusionTrial } from "./plugins/occlusion_trial.js";
import { Preload } from "./plugins/preload.js";
import { Questions } from "./plugins/questions.js";

/** Run a session from its present state until it is done; returns the last state. */
export async function runSession(session, queue, place, trouble) {
  const flow = new Flow(session, queue);
  const inTrials = () => flow.state.stage === "practice" || flow.state.stage === "main";
  const jsPsych = initJsPsych({ display_element: place });
  place.replaceChildren();
  const confirmed = { type: Confirmed, confirm: () => flow.confirm() };
  await jsPsych.run([
    confirmed, // What was not sent before a reload.
    { type: Preload, images: session.images, trouble },
    {
      timeline: [
        {
          type: Instructions,
          example: session.example,
          counts: session.counts,
          trouble,
          shown: () => queue.add("instructions_shown"),
          on_finish: () => queue.add("instructions_done"),
        },
      ],
      conditional_function: () => flow.state.stage === "instructions",
    },
    confirmed,
    {
      timeline: [
        {
          timeline: [
            { type: Interlude, title: () => flow.interlude().title, paragraphs: () => flow.interlude().paragraphs },
          ],
          conditional_function: () => flow.interlude() !== null,
        },
        {
          type: OcclusionTrial,
          trouble,
          trial: () => flow.state.trial,
          progress: () => flow.progress(),
          practice: () => flow.state.stage === "practice",
          shown: (time) => flow.shown(time),
          answered: (button, time, rt) => flow.answered(button, time, rt),
        },
      ],
      conditional_function: inTrials,
      loop_function: inTrials,
    },
    {
      timeline: [{ type: Questions, answered: (answers) => flow.questions(answers) }],
      conditional_function: () => flow.state.stage === "questions",
    },
  ]);
  return flow.state;
}

/** Where a session is. `state` changes only when the server has confirmed events. */
class Flow {
  constructor(session, queue) {
    Object.assign(this, { session, queue, state: session.state });
    this.before = null; // The state of the trial before, in this window.
  }

  async confirm() {
    const { state, feedback } = await this.queue.confirmed();
    this.state = state;
    return { feedback };
  }

  shown(time) {
    this.queue.add("trial_shown", { trial: this.state.trial.id }, time);
  }

  answered(button, time, rt) {
    this.before = this.state;
    this.queue.add("answer", { trial: this.state.trial.id, button, rt_ms: Math.round(rt) }, time);
    return this.confirm();
  }

  questions(answers) {
    this.queue.add("questions", { answers });
    return this.confirm();
  }

  progress() {
    const { stage, attempt, position, of } = this.state;
    if (stage === "main") return { title: "Main part", position, of };
    return { title: attempt > 1 ? `Practice, round ${attempt}` : "Practice", position, of };
  }

  /** What is said before the present trial: {title, paragraphs}; null: nothing. */
  interlude() {
    const { stage, attempt, position, of } = this.state;
    if (!this.before && (position > 0 || attempt > 1)) {
      return { title: "Welcome back", paragraphs: ["You go on where you stopped."] };
    }
    if (this.before?.stage === stage && this.before.attempt === attempt) return null;
    if (stage === "main") {
      const first = this.session.counts.practice ? "Well done: that was the practice. " : "";
      return {
        title: "The main part",
        paragraphs: [`${first}Now there are ${of} images. You are not told whether you are correct.`],
      };
    }
    if (attempt === 1) {
      return { title: "Practice", paragraphs: [`${of} images. You are told after each whether you were correct.`] };
    }
    return {
      title: "Please practice again",
      paragraphs: ["Not all answers were correct. Look closely at the favorite images: what do they have in common?"],
    };
  }
}
