export { AgentName, AgentPicker } from './AgentPicker';
export { exampleOf, isMembers } from './example';
export { type Agent, agentQuery, listingQuery, loadAgent } from './query';
export { SchemaTable } from './Interface';
export { agentRoute, runRoute } from './route';
export { shellWord } from './samples';
export { type SchemaRow, describe, schemaRows } from './schemaRows';
export { SchemaRows } from './SchemaRows';
