"""`headlight serve`: several processes of the app on one machine, and HAProxy in front of them.

`supervisor` (no PyTorch) starts `fork_server`, which loads everything once and forks each worker, and HAProxy
with the configuration `haproxy.cfg`. docs/serving.md says how to use it.
"""
