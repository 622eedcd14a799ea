# Jobs for a queue: one whose first request of memory is too small, as in memory.smk, and one that
# fails. What they were given stands in requests.txt, one attempt a line.
rule all:
    input:
        "grown.txt",
        "failed.txt",


rule grow:
    output:
        "grown.txt",
    log:
        "grow.log",
    resources:
        mem_mb=lambda wildcards, attempt: 500 * 2 ** (attempt - 1),
        runtime=lambda wildcards, attempt: 5 * 2 ** (attempt - 1),
    shell:
        "echo {resources.mem_mb} {resources.runtime} >> requests.txt;"
        " python -c 'import time; held = bytes([1]) * 550_000_000; time.sleep(3)' 2> {log}"
        " && echo $KCDE_CLUSTER_PROOF > {output}"


rule fail:
    output:
        "failed.txt",
    log:
        "fail.log",
    retries: 0
    shell:
        "echo said why > {log}; exit 3"
