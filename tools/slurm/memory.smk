# A job whose first request is too small: it holds 800 MB, asks for 500 and, as the rules of the
# workflow do, for double when it is tried again. The requests stand in requests.txt, one a line.
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
        " python -c 'import time; held = bytes([1]) * 800_000_000; time.sleep(8)' 2> {log}"
        " && echo $SLURM_JOB_ID $KCDE_CLUSTER_PROOF > {output}"
