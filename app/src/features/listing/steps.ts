// The steps of listing an agent, in their order, and which fields each has.

import type { FieldName, Problems } from './form/fields';

export const STEPS = ['details', 'schemas', 'price', 'service', 'test', 'review'] as const;
export type Step = (typeof STEPS)[number];

export const STEP_FIELDS: { readonly [step in Step]: readonly FieldName[] } = {
    details: ['name', 'tagline', 'description', 'tags'],
    schemas: ['inputSchema', 'outputSchema'],
    price: ['price', 'minCover', 'collateral', 'timeout', 'binding'],
    service: ['resultKey', 'endpoint'],
    test: [],
    review: [],
};

export const problemsAt = (step: Step, problems: Problems): readonly FieldName[] =>
    STEP_FIELDS[step].filter((name) => problems[name] !== undefined);

/** Steps whose fields are not right yet. */
export const openSteps = (problems: Problems): readonly Step[] =>
    STEPS.filter((step) => problemsAt(step, problems).length > 0);

export const stepAfter = (step: Step): Step => STEPS[STEPS.indexOf(step) + 1] ?? 'review';
export const stepBefore = (step: Step): Step | null => STEPS[STEPS.indexOf(step) - 1] ?? null;
