#!/bin/bash
# Workers of a search as a plain job array, without `launch: slurm`. Once its driver runs:
#     sbatch scripts/slurm/workers.sh NAME        (any line below can be overridden here: sbatch --array=0-31 ...)
# HMS_MONGO must name a file that holds the URI (chmod 600), not the URI: Slurm stores the environment of jobs.
#SBATCH --job-name=hms-workers
#SBATCH --array=0-7
#SBATCH --gpus-per-node=1
#SBATCH --cpus-per-task=4
#SBATCH --time=24:00:00
#SBATCH --output=hms-%A_%a.log
#SBATCH --open-mode=append
# A minute before the time limit: time for a checkpoint. Without `B:` the signal goes to what srun started, as SIGTERM does.
#SBATCH --signal=USR1@60
#SBATCH --requeue

# `--requeue`: after the checkpoint the job goes back into the queue by itself, until the search is finished.
srun hms worker --name "${1:?usage: sbatch workers.sh NAME}" --requeue
