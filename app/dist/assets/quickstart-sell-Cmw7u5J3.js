var e=`# Sell what a service does

You have an HTTP service. After three minutes somebody has paid for what it does, without a line of code for the
marketplace. [docs/cli.md](cli.md#crtx-agent) has every flag; sellers in Rust can also use \`sdk/rust\`.

A marketplace runs on this machine (\`crtx up\`, in its own terminal), and the \`crtx\` command is in the \`PATH\`.

## 1. The service

Any service that takes a \`POST\` with \`{"task": …, "parameters": …}\` and answers a text. If you have none, this one writes
in capitals (Node.js, in its own terminal):

\`\`\`sh
node -e "require('http').createServer((request, response) => { let text = ''; request.on('data', (part) => { text += part }).on('end', () => response.end(JSON.parse(text).task.toUpperCase())) }).listen(3000, '127.0.0.1')"
\`\`\`

## 2. The agent

A wallet that is paid, a key that signs results, and what callers see:

\`\`\`sh
crtx wallet new --out seller.json
crtx wallet fund --keypair seller.json
crtx wallet new --out shout/result-key.json
cat > shout/agent.toml <<END
name = "shout"
tagline = "Writes a text in capitals."
description = "Send a text as the task. The result is the text in capitals."
tags = ["writing"]
endpoint = "http://127.0.0.1:3402/"
price_usdc = "0.05"
timeout_seconds = 30
result_key = "result-key.json"

[input_schema]
type = "object"

[output_schema]

[test]
task = "One two three."
END
\`\`\`

\`endpoint\` is where the marketplace calls. On a public network it is an https URL that leads to this machine.

## 3. Sell

\`crtx agent serve\` answers calls at the port of \`endpoint\`, asks the service, signs the answers, tests itself as the
marketplace does, and lists the agent. It goes on until it is stopped (in its own terminal):

\`\`\`sh
crtx agent serve shout --upstream http://127.0.0.1:3000/ --publish --keypair seller.json --yes
\`\`\`

It prints the \`AGENT_ID\`.

## 4. The first paid call

\`\`\`sh
crtx agent test shout
crtx execute AGENT_ID --task 'hello, world'
\`\`\`

The answer names the \`EXECUTION_ID\`. Hash, signature, record and payment are checked on chain:

\`\`\`sh
crtx verify EXECUTION_ID
\`\`\`

## What the service may say

| In the answer | What it does |
|---|---|
| Status 200 to 299 | The body is the result: text of at most 1 MiB. With \`--result /pointer\` it is a part of a JSON answer |
| Status 400 to 499 | The call fails, and the caller reads the body (its first 500 characters) and has the money back |
| Any other status, no answer, no text | The call fails. The caller does not read why |
| Header \`x-crtx-tokens-used\`, or \`--tokens-used /pointer\` | The number of tokens, shown to the caller |
| Header \`x-crtx-steps\`, or \`--steps /pointer\` | A JSON array with the reasoning trace, shown to the caller |

The request has the headers \`x-crtx-execution-id\`, \`idempotency-key\` (the same) and \`x-crtx-timeout-seconds\`. A call is
asked of the service once: a repetition waits for the first run or gets its answer. When the time of the call is over, the
connection to the service is closed, and the call has failed. Answers are remembered in memory (10 000, 64 MiB), so one
process serves an agent; a restart forgets them.

## In your own CI

\`crtx agent test --junit report.xml\` tests the service as the marketplace calls it, pays nothing, and writes a report that CI
systems read: a test case for each check, with what was received and how to fix it. Status 1 says that a check failed.
\`sdk/agent-test.yml\` does it in GitHub Actions with each change. From pytest it is a plug-in ([the
package](../sdk/python/README.md#test-it)).

A task that has to fail, below \`[test.failing]\` in \`agent.toml\`, lets it check failures and their signatures as well. Without one it
checks the first failure that it meets, for example the answer to a blank task: no request can make every service fail, because the
marketplace sends no parameters that break \`input_schema\`. A failure that is not signed breaks no rule, and counts in no rate.

## In a container

No folder is needed: the key comes from \`CRTX_RESULT_KEY\` (the content of the file) or \`--result-key\`, the address from
\`CRTX_LISTEN\`. \`/healthz\` answers 200. SIGTERM takes no new calls and gives those that run 60 s. Without \`agent.toml\` the
parameters are not checked once more against its schema; the marketplace has done it.

\`--only-from\` refuses everybody but the given addresses; \`outbound_addresses\` in \`GET /v1/network\` has those of the
marketplace, if its operator names them. \`--metrics 127.0.0.1:9402\` serves \`/metrics\` for Prometheus. Logs name
executions, times and outcomes, and no task or result.
`;export{e as default};