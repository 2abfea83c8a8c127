#!/bin/bash
# A lab on several nodes of a Slurm cluster, a shard on each:
#
#     sbatch --array=1-8 contrib/slurm-lab.sh plans/mine.toml 8 shards
#
# measures shard K of 8 in task K, into shards/K.db. A task that died goes on where it was:
#
#     sbatch --array=3 contrib/slurm-lab.sh plans/mine.toml 8 shards
#
# and when all have ended, anywhere:
#
#     mydyno merge shards/*.db --into all.db && mydyno report --results all.db
#
# `shards` has to be on storage that all nodes see; a results file there is written by one node.
# ENGINES are installed on each node, and MYDYNO_HOME keeps them and their databases: on a disk of
# the node, not on storage that nodes share.
#SBATCH --job-name=mydyno-lab
#SBATCH --nodes=1
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=mydyno-lab-%a.log
set -euo pipefail
plan=${1:?"the plan, such as plans/mine.toml"}
shards=${2:?"how many shards the lab has, such as 8"}
directory=${3:-shards}
shard=${SLURM_ARRAY_TASK_ID:?"no task of a job array; sbatch --array=1-$shards $0 $*"}
export MYDYNO_HOME=${MYDYNO_HOME:-/var/tmp/mydyno-$(id -un)}
mkdir -p "$directory"
echo "shard $shard/$shards on $(hostname)"
for engine in ${ENGINES:-mysql-5.7}; do
    mydyno server install "$engine"
done
# In the place of this shell, so that Slurm's signals reach it: the first ends the lab in order.
exec mydyno lab run "$plan" --shard "$shard/$shards" --results "$directory/$shard.db" \
    --output "$directory/$shard.html"
