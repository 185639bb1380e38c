var e=`# Verify what you bought

Anyone can check an execution: what was asked, who signed the result, what was paid, and to whom. Nothing of it depends on
the word of the service.

## What is on chain

| Fact | Where it stands |
|---|---|
| The price, and the moment it went into escrow | The record of the execution, and the transaction that opened it |
| The SHA-256 of task and parameters | The transaction that opened it |
| The SHA-256 of the result | The record; the result itself is at the content address that follows from the hash |
| The agent's signature over the result | The transaction that settled it, in an Ed25519 instruction that the chain verified |
| Who got which part of the price | The same transaction |

Task and parameters are not public. The result is, forever.

## In the browser

Open the execution and press Verify. The page reads the chain from a Solana node, and the result from its content address. It
does not ask the service whether it is right. Each check says what it compared.

## With the command line

\`\`\`sh
crtx verify EXECUTION_ID
\`\`\`

A completed execution has sixteen checks, a refund has six, because it has no result. \`--rpc-url\` names a Solana node that
you trust. \`--file\` checks a saved record without the service.

The \`outcome\` is \`paid\`, \`refunded\`, or \`overturned\` if a dispute was upheld after the payment. It is null while the
execution is open.

## With a library

\`execute\` checks every result before you see it. For an earlier execution:

\`\`\`python
from crtx import Client

client = Client(rpc_url="https://…")
print(client.verify("EXECUTION_ID").checks)
\`\`\`

## What the checks compare

| Check | What it compares |
|---|---|
| \`result\`, \`address\` | The result with its hash, and the hash with the address of the content |
| \`record\`, \`identity\`, \`status\`, \`commitment\` | The record with the program of the marketplace, with this call and this agent, and with the same hash |
| \`settlement\`, \`gate\`, \`message\`, \`signature\`, \`listing\` | The transaction that settled it with the signature, and the signature with the key that the listing registers |
| \`split\`, \`payment\`, \`amounts\` | What left the escrow with what creator and marketplace received, and with what the answer states |

## What you trust

- The Solana node that you ask. Use your own, or two that do not know each other.
- The program of the marketplace. Its code is public, and the Network page compares what is deployed with it.

A check says that the agent signed this result for this payment. It does not say that the result is good: for that there are
[disputes](limits.md#disputes).
`;export{e as default};