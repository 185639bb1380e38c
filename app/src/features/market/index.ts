export { ANNOUNCED_ROLES, AnnouncedParameters, AnnouncedRoles, roleName } from './Announced';
export { type AnnouncementState, PARAMETERS_DELAY_S, ROLES_DELAY_S, announcementState } from './announcement';
export { Differences } from './Differences';
export { type AnnouncedRoleName, type MarketFacts, factsOfChain, factsOfService } from './facts';
export {
    type MarketParameters,
    type ParameterField,
    type ParameterProblems,
    TIERS,
    problemsOf,
    sameParameters,
} from './parameters';
export { Parameters } from './Parameters';
export { RoleHolder, Roles } from './Roles';
