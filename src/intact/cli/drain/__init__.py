"""`intact drain`: empties nodes within all budgets, group by group.

| module | holds |
|---|---|
| `options`, `flags` | what the user asks for, and how on the command line |
| `filters` | pure: which pods may go, by kubectl's safety rules |
| `units` | pure: the groups and single pods that go together |
| `plan` | pure: which of them are asked for next |
| `refusals` | pure: what was refused, and what must change before it is asked for again |
| `turns` | pure: whose turn it is, of several nodes |
| `answers` | pure: what an answer of the server means |
| `evictions` | asks the server for pods to go |
| `cordon` | cordons nodes, and takes it back |
| `watching` | watches pods, nodes and budgets, and draws pictures of them |
| `draining` | the drain itself: sees, plans, asks, waits |
| `left` | pure: what is left, and what blocks it |
| `events` | what happened, and its form in JSON |
| `text`, `progress` | views: plain lines, and a live one |
| `dry_run`, `rehearsal` | what would be done |
| `command` | the command |
"""
