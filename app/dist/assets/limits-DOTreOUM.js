var e=`# Limits

What a call, an agent and a wallet may have. The service refuses what is larger before any money moves.

## A call

| What | Limit |
|---|---|
| Request | 1 MiB of JSON |
| Result | 1 MiB of text |
| Whole answer of the creator's service | 7 MiB |
| Trace of the steps | 256 KiB; a larger one is left out |
| \`Idempotency-Key\` | 1 to 255 visible ASCII characters |
| Time | The time limit of the listing. After it, and a grace for the settlement, the money comes back |
| Check of \`parameters\` | 5 000 000 steps, counted in advance |

## Calls at the same time

| What | Limit |
|---|---|
| Calls under way of a key, of a wallet, of an agent | 10 000 each |
| Failed calls in an hour | 5 000 of a key or wallet, 10 000 of an agent |
| Streams and waiting requests for events | 32 of a wallet, 1 024 of a process |
| Sign-ins and challenges of an address | 60 at once, then one a second |
| Sessions of a wallet | 20, each ends after seven days |
| Webhooks of a wallet | 10 |

A call above a limit is answered with [\`rate_limited\`](errors.md#try-again) and \`Retry-After\`, which says when to try again.

## Lists

\`limit\` is 1 to 100, 20 if it is not given. A list is read to its end with \`cursor\`. \`offset\` is at most 10 000 for agents and
disputes.

## A listing

| What | Limit |
|---|---|
| Document | 256 KiB, 30 000 values, 100 levels |
| \`name\`, \`tagline\`, \`description\` | 80, 200, 20 000 characters |
| \`tags\` | 1 to 5, at most 32 characters each |
| \`endpoint\` | 2 048 characters; https on port 443, on a public address |
| \`input_schema\`, \`output_schema\` | About 128 KiB of compact JSON, 20 000 values, 64 levels |

## Disputes

| What | Limit |
|---|---|
| The creator's answer | 72 hours after the dispute was raised |
| A decision for the caller | Not before the creator's answer or 24 hours |
| The end without a decision | 30 days |
| Evidence | A text and up to five files, 1 MiB together |

The window in which a completed call can be disputed is a parameter of the marketplace; \`GET /v1/network\` names it.

## Content

\`PUT /ipfs/{cid}\` takes 1 MiB. Before anything on chain refers to it, a wallet may store up to 200 pieces and 32 MiB; they are
dropped a day later.
`;export{e as default};