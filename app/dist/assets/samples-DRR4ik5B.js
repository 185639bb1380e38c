var e=`CRTX_API_KEY`,t=[{name:`curl`,code:p},{name:`Python`,code:m},{name:`TypeScript`,code:g},{name:`Rust`,code:_},{name:`CLI`,code:v},{name:`MCP`,code:y}],n=({parameters:e})=>Object.keys(e).length>0,r=e=>n(e)?{task:e.task,parameters:{...e.parameters}}:{task:e.task},i=(e,t)=>JSON.stringify(e,null,t).replace(/[\u007f-\uffff]/g,e=>`\\u${e.charCodeAt(0).toString(16).padStart(4,`0`)}`),a=e=>`'${e.replaceAll(`'`,`'\\''`)}'`,o=/^[\x20-\x7e\n]*$/,s=e=>Array.from(new TextEncoder().encode(e),e=>e>=32&&e<127&&e!==92?String.fromCharCode(e):`\\0${e.toString(8).padStart(3,`0`)}`).join(``),c=255;function l(e){let t=Math.max(0,...Array.from(e.matchAll(/"(#*)/g),([,e=``])=>e.length+1)),n=`#`.repeat(Math.max(1,t));return n.length>c?u(e):`r${n}"${e}"${n}`}var u=e=>`"${Array.from(e,e=>e===`"`||e===`\\`?`\\${e}`:/[\x20-\x7e]/.test(e)?e:e===`
`?`\\n`:`\\u{${(e.codePointAt(0)??0).toString(16)}}`).join(``)}"`,d=e=>`"${Array.from(e,e=>{let t=e.codePointAt(0)??0;return t>65535?`\\U${t.toString(16).padStart(8,`0`)}`:i(e).slice(1,-1)}).join(``)}"`;function f(e,t=``){if(e===null)return`None`;if(typeof e==`boolean`)return e?`True`:`False`;if(typeof e==`string`)return d(e);if(typeof e!=`object`)return i(e);let n=`${t}    `,r=Array.isArray(e)?e.map(e=>f(e,n)):Object.entries(e).map(([e,t])=>`${d(e)}: ${f(t,n)}`),[a,o]=Array.isArray(e)?`[]`:`{}`;return r.length===0?`${a}${o}`:`${a}\n${r.map(e=>`${n}${e},\n`).join(``)}${t}${o}`}function p(t){return[`curl -sS ${a(`${t.url}/v1/agents/${t.agentId}/execute`)} \\`,`  -H "Authorization: Bearer $${e}" \\`,`  -H 'Content-Type: application/json' \\`,`  -H "Idempotency-Key: $(date +%s)-$$" \\`,`  -d ${a(i(r(t)))}`].join(`
`)}function m(t){let r=n(t)?`\n    ${f({...t.parameters},`    `)},`:``;return`# pip install crtx
import os
from crtx import Client

client = Client(${d(t.url)}, os.environ["${e}"])
answer = client.execute(
    ${d(t.agentId)},
    ${d(t.task)},${r}
)
print(answer.result, answer.cost_usdc)`}var h=e=>i(e,4).replace(/^( *)"__proto__":/gm,`$1["__proto__"]:`).replaceAll(`
`,`
    `);function g(t){let r=n(t)?`\n    { parameters: ${h({...t.parameters})} },`:``;return`// npm install @crtx/sdk
import { Client } from "@crtx/sdk";

const client = new Client(${i(t.url)}, process.env.${e});
const { result, cost_usdc } = await client.execute(
    ${i(t.agentId)},
    ${i(t.task)},${r}
);
console.log(result, cost_usdc);`}function _(t){let[r,a]=n(t)?[`call`,`
    let parameters = serde_json::from_str(${l(i({...t.parameters}))}).expect("JSON");
    let call = crtx_sdk::CallOptions { parameters, ..Default::default() };`]:[`Default::default()`,``];return`// crtx-sdk with the feature "buyer", serde_json, tokio with "macros" and "rt-multi-thread"
#[tokio::main]
async fn main() -> Result<(), crtx_sdk::Error> {
    let key = std::env::var("${e}").expect("${e}");
    let client = crtx_sdk::Client::new(${u(t.url)}, &key)?;${a}
    let task = ${u(t.task)};
    let answer = client.execute(${u(t.agentId)}, task, &${r}).await?;
    println!("{} for {} USDC", answer.result, answer.cost_usdc);
    Ok(())
}`}function v(t){let r=t.task!==`-`&&o.test(t.task),c=r?``:`printf %b ${a(s(t.task))} | `,l=r?a(t.task):`-`,u=n(t)?` \\\n  --parameters ${a(i({...t.parameters}))}`:``;return`# Reads the key from ${e}
export CRTX_URL=${a(t.url)}
${c}crtx execute ${t.agentId} \\\n  --task ${l}${u}`}function y(t){return`// In the settings of your MCP client
${i({mcpServers:{crtx:{command:`crtx`,args:[`mcp`],env:{CRTX_URL:t.url,[e]:`your key`}}}},2)}

// What the model then calls: the tool call_agent, with
${i({agent_id:t.agentId,...r(t)},2)}`}export{a as n,t};