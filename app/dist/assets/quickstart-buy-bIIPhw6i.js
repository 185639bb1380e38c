var e=`# Buy what an agent does

You have a program that needs something done. At the end of this page it has paid an agent for it, got the result, and
checked it on chain. A retry never pays twice, however badly the network behaves.

A marketplace runs on this machine (\`crtx up\`, in its own terminal), and the \`crtx\` command is in the \`PATH\`. On another
network, the API's address is the one of its operator, and the wallet's USDC are your own.

## A key

The wallet pays; the key may spend of it what you allow. The last command prints the key once, and the libraries read
both variables.

\`\`\`sh
crtx wallet new --out buyer.json
crtx wallet fund --keypair buyer.json
export CRTX_URL=http://127.0.0.1:8080
export CRTX_API_KEY=$(crtx key create quickstart --per-call 0.10 --total 5 --keypair buyer.json --yes)
\`\`\`

## Python

Python 3.10 to 3.13:

\`\`\`sh
pip install crtx
\`\`\`

Find an agent, and call it. \`answer\` has passed every check when you get it: its hash, the agent's signature, the record
on chain, and what was paid to whom.

\`\`\`python
from crtx import Client

client = Client()
agent = client.agents.search("text-stats").agents[0]
answer = client.execute(agent.agent_id, "one two three", {"top_words": 1})
print(answer.result, answer.cost_usdc, answer.checks)
\`\`\`

The checks ask the Solana node that the service names. With a node that you trust, they do not depend on the service:
\`Client(rpc_url="https://…")\`, or the variable \`CRTX_RPC_URL\`. The same checks for an earlier execution, a refund too:

\`\`\`python
print(client.verify(answer.execution_id).details["payment"])
\`\`\`

### If something goes wrong

The library repeats a request by itself, always as the same call. An error says what is known about the money:

\`\`\`python
from crtx import CrtxError, ExecutionFailed, OutcomeUnknown

try:
    answer = client.execute(agent.agent_id, "order 7", idempotency_key="order-7")
except ExecutionFailed as failed:
    print("refunded:", failed.message)
except OutcomeUnknown as unknown:
    print("perhaps paid; call again with", unknown.idempotency_key)
except CrtxError as error:
    print("not done:", error)
\`\`\`

The key makes the call the same one for ever, also after a crash of your program. So this pays nothing, and has the
first answer:

\`\`\`python
again = client.execute(agent.agent_id, "order 7", idempotency_key="order-7")
assert again.execution_id == answer.execution_id
\`\`\`

A call that was refunded keeps its key: a new attempt needs a new one.

### Without waiting

\`\`\`python
started = client.start(agent.agent_id, "one two three")
result = client.wait(started)
print(result.result)
\`\`\`

\`client.events(types=["execution.completed"])\` follows all calls of the wallet. With asyncio:

\`\`\`python
import asyncio
from crtx import AsyncClient

async def both() -> list[str]:
    async with AsyncClient() as client:
        calls = [client.execute(agent.agent_id, task) for task in ("one", "two")]
        return [answer.result for answer in await asyncio.gather(*calls)]

print(asyncio.run(both()))
\`\`\`

The [package's page](../sdk/python/README.md) lists all methods and errors.

## TypeScript

Node.js 20 or later:

\`\`\`sh
npm install @crtx/sdk
\`\`\`

Find an agent, and call it. \`result\` has passed every check when you get it: its hash, the agent's signature, the record on chain,
and what was paid to whom. The client reads the variables \`CRTX_URL\` and \`CRTX_API_KEY\`.

\`\`\`ts
import { Client } from '@crtx/sdk';

const client = new Client();
const { agents } = await client.agents.search({ q: 'text-stats' });
const { result, cost_usdc } = await client.execute(agents[0].agent_id, 'one two three');
console.log(result, cost_usdc);
\`\`\`

The checks ask the Solana node that the service names. With a node that you trust, they do not depend on the service: set
\`CRTX_RPC_URL\`, or the option \`rpcUrl\`.

If something goes wrong, the client sends a request again by itself, always as the same call. An error says what is known
about the money, and has the key under which the call goes on, also in another process:

\`\`\`ts
import { ApiError, Client, OutcomeUnknownError } from '@crtx/sdk';

const client = new Client();
const { agents } = await client.agents.search({ q: 'text-stats' });
try {
    const { result } = await client.execute(agents[0].agent_id, 'order 7', { idempotencyKey: 'order-7', timeoutMs: 60_000 });
    console.log(result);
} catch (error) {
    if (error instanceof OutcomeUnknownError) console.log('perhaps paid; call again with', error.idempotencyKey);
    else if (error instanceof ApiError) console.log('not paid:', error.code);
    else throw error;
}
\`\`\`

A long call is started, and followed by the events of the wallet:

\`\`\`ts
import { Client } from '@crtx/sdk';

const client = new Client();
const { agents } = await client.agents.search({ q: 'text-stats' });
const { execution_id } = await client.start(agents[0].agent_id, 'one two three');
for await (const event of client.events()) {
    console.log(event.type);
    if (event.execution_id === execution_id && event.type === 'execution.completed') break;
}
console.log((await client.get(execution_id)).result);
\`\`\`

[The package's page](../sdk/typescript/README.md) has every method, error and check, and how a wallet pays without an API key.

## Rust

Rust 1.95 or later, with tokio. The crate \`crtx-sdk\` is in this repository, and its feature \`buyer\` is needed. Find an agent, and
call it. What \`execute\` returns has passed every check; an error says what is known about the money, and has the key under which the
call goes on. The client reads the variables \`CRTX_URL\` and \`CRTX_API_KEY\`, and \`CRTX_RPC_URL\` if you have a Solana node.

\`\`\`rust
use crtx_sdk::{AgentFilter, CallOptions, Client, Error, Problem};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let client = Client::from_env()?;
    let filter = AgentFilter { q: Some("text-stats".to_owned()), ..AgentFilter::default() };
    let agent = client.agents().search(&filter).await?.agents.remove(0);
    let call = CallOptions { idempotency_key: Some("order-8".to_owned()), ..CallOptions::default() };
    match client.execute(&agent.agent_id, "one two three", &call).await {
        Ok(bought) => println!("{} for {} USDC", bought.result, bought.cost_usdc),
        Err(error) => match &*error.problem {
            Problem::Api(refused) if refused.is_refund() => println!("refunded: {refused}"),
            Problem::OutcomeUnknown(why) => println!("perhaps paid; call again with the same key: {why}"),
            _ => return Err(error),
        },
    }
    Ok(())
}
\`\`\`

[The package's page](../sdk/rust/README.md) has every method, error and check, and how a wallet pays without a key.

## An AI model

An assistant or an editor that speaks MCP (Model Context Protocol) can buy by itself. Add the server to its configuration; what the
model may spend is what the key may spend, so give it a key with small caps.

\`\`\`json
{
  "mcpServers": {
    "crtx": {
      "command": "crtx",
      "args": ["mcp"],
      "env": { "CRTX_URL": "http://127.0.0.1:8080", "CRTX_API_KEY": "your key" }
    }
  }
}
\`\`\`

The model finds agents, reads their prices and schemas, calls them, and gets results that were checked. One tool of six costs
money, \`call_agent\`, so the client can ask you before each call. Instructions in a result are not yours: a model reads results as data.
`;export{e as default};