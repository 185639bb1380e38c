export { AgentName, AgentPicker } from './AgentPicker';
export { exampleOf, isMembers } from './example';
export { type Agent, agentQuery, listingQuery, loadAgent } from './query';
export { agentRoute } from './route';
export { shellWord } from './samples';
export { type SchemaRow, describe, schemaRows } from './schemaRows';
export { SchemaRows, SchemaTable } from './SchemaTable';
