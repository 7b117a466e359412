// Sends the withdrawal code, and says what came of it.

const form = document.getElementById("withdraw"), told = document.getElementById("told");
const button = form.querySelector("button");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  button.disabled = true;
  const code = document.getElementById("code").value.trim();
  try {
    const response = await fetch("/api/withdraw", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ code }) });
    const erased = response.status === 200;
    form.hidden = erased;
    say(erased ? "Your answers are erased. Thank you for letting us know." : words(response.status), erased);
  } catch {
    say("The study's server does not answer. Nothing was erased; please try again later.");
  } finally {
    button.disabled = false;
  }
});

function words(status) {
  if (status === 404) return "No answers have this code. Please check it; nothing was erased.";
  if (status === 429) return "Too many codes were tried. Please wait a minute, then try again; nothing was erased.";
  return "The server could not do this. Nothing was erased; please try again later.";
}

function say(text, good = false) {
  told.textContent = text;
  told.classList.toggle("good", good);
  told.hidden = false;
}
