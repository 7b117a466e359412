#!/bin/bash
# The driver as a job of one core, where long processes on a login node are not welcome; its jobs are the workers:
#     sbatch scripts/slurm/driver.sh configs/paper.yaml --set launch.kind=slurm --workers 8
# The same command continues a search whose driver was ended; jobs that still wait or run are kept.
#SBATCH --job-name=hms-driver
#SBATCH --cpus-per-task=1
#SBATCH --mem=4G
#SBATCH --time=7-00:00:00
#SBATCH --output=hms-driver-%j.log
#SBATCH --open-mode=append
#SBATCH --signal=TERM@120
#SBATCH --requeue

srun hms run "$@"
