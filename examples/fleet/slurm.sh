#!/usr/bin/env bash
#SBATCH --job-name=redyno-agents
#SBATCH --array=0-7
#SBATCH --nodes=1
#SBATCH --cpus-per-task=2
#SBATCH --exclusive
# Eight agents as an array: each takes its number and their number from SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT.
#   sbatch examples/fleet/slurm.sh redis://bus:6379 redis:6379
exec redyno agent --bus "$1" --target "$2"
