var e=`CRTX_API_KEY`,t=[{name:`curl`,language:`sh`,code:l},{name:`Python`,language:`python`,code:u},{name:`TypeScript`,language:`ts`,code:d},{name:`Rust`,language:`rust`,code:f},{name:`Command line`,language:`sh`,code:p}],n=({parameters:e})=>Object.keys(e).length>0,r=e=>n(e)?{task:e.task,parameters:{...e.parameters}}:{task:e.task},i=({url:e,agentId:t})=>`${e}/v1/agents/${t}/execute`,a=(e,t)=>JSON.stringify(e,null,t).replace(/[\u007f-\uffff]/g,e=>`\\u${e.charCodeAt(0).toString(16).padStart(4,`0`)}`),o=e=>`'${e.replaceAll(`'`,`'\\''`)}'`;function s(e){let t=Math.max(0,...Array.from(e.matchAll(/"(#*)/g),([,e=``])=>e.length+1)),n=`#`.repeat(Math.max(1,t));return`r${n}"${e}"${n}`}function c(e,t=``){if(e===null)return`None`;if(typeof e==`boolean`)return e?`True`:`False`;if(typeof e!=`object`)return a(e);let n=`${t}    `,r=Array.isArray(e)?e.map(e=>c(e,n)):Object.entries(e).map(([e,t])=>`${a(e)}: ${c(t,n)}`),[i,o]=Array.isArray(e)?`[]`:`{}`;return r.length===0?`${i}${o}`:`${i}\n${r.map(e=>`${n}${e},\n`).join(``)}${t}${o}`}function l(t){return[`curl -sS ${o(i(t))} \\`,`  -H "Authorization: Bearer $${e}" \\`,`  -H 'Content-Type: application/json' \\`,`  -H "Idempotency-Key: $(uuidgen)" \\`,`  -d ${o(a(r(t)))}`].join(`
`)}function u(t){return`import json, os, urllib.request, uuid

request = urllib.request.Request(
    ${a(i(t))},
    data=json.dumps(${c(r(t),`    `)}).encode(),
    headers={
        "Authorization": "Bearer " + os.environ["${e}"],
        "Content-Type": "application/json",
        "Idempotency-Key": str(uuid.uuid4()),
    },
)
with urllib.request.urlopen(request) as answer:
    execution = json.load(answer)
print(execution["result"])`}function d(t){let n=a(r(t),4).replaceAll(`
`,`
    `);return`const answer = await fetch(${a(i(t))}, {
    method: "POST",
    headers: {
        "Authorization": \`Bearer \${process.env.${e}}\`,
        "Content-Type": "application/json",
        "Idempotency-Key": crypto.randomUUID(),
    },
    body: JSON.stringify(${n}),
});
const execution = await answer.json();
if (!answer.ok) throw new Error(execution.error.message);
console.log(execution.result);`}function f(t){return`// reqwest = { version = "0.13", features = ["blocking", "json"] }, serde_json = "1", uuid = { version = "1", features = ["v4"] }
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let body: serde_json::Value = serde_json::from_str(${s(a(r(t)))})?;
    let execution: serde_json::Value = reqwest::blocking::Client::new()
        .post(${s(i(t))})
        .bearer_auth(std::env::var("${e}")?)
        .header("Idempotency-Key", uuid::Uuid::new_v4().to_string())
        .json(&body)
        .send()?
        .error_for_status()?
        .json()?;
    println!("{}", execution["result"]);
    Ok(())
}`}function p(e){let t=n(e)?` \\\n  --parameters ${o(a({...e.parameters}))}`:``;return`export CRTX_URL=${o(e.url)}
crtx execute ${e.agentId} --task ${o(e.task)}${t}`}export{o as n,t};