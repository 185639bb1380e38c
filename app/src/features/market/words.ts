// What parameters, roles and announcements of the market say.

import { plural } from '../../shared/figures';

export const words = {
    usdc: (amount: string) => `${amount} USDC`,
    now: 'now',
    nobody: 'nobody',

    /** Of something that is announced. */
    when: {
        takesEffect: 'Takes effect ',
        on: ', on ',
        waiting: (until: string) => `. The service applies it then; anybody may, until ${until}.`,
        due: (since: string, until: string) =>
            `Due since ${since}. The service applies it within a minute; anybody may, until ${until}.`,
        lapsed: (at: string) => `It lapsed at ${at} and has no effect. The admin can announce it again.`,
    },

    announced: {
        parameters: 'Other parameters are announced',
        same: 'They are the same as now.',
        table: 'Announced parameters',
        roles: 'Other role holders are announced',
    },

    differences: { name: 'Parameter', before: 'Now', after: 'Then', effect: 'Who is affected' },

    parameters: {
        fee: 'Fee',
        feeOf: 'Fee of a payment',
        minPrice: 'Lowest price',
        minPriceOf: 'Lowest price of a call',
        window: 'Dispute window',
        windowOf: 'Time to raise a dispute',
        bond: 'Bond of a dispute',
        grace: 'Settlement grace',
        graceOf: 'Settlement after a time-out',
        penalty: 'Highest penalty',
        times: (multiple: number) => `${multiple} times the amount paid`,
        tier: (number: number) => `Collateral, tier ${number}`,
        tierOf: (collateral: string, prices: string) => `${collateral} USDC for a price ${prices}`,
        tiers: 'Collateral that an agent locks, by its price',
        price: 'Price of a call',
        collateral: 'Collateral',
        everyPrice: 'every price',
        above: (price: string) => `above ${price} USDC`,
        upTo: (price: string) => `up to ${price} USDC`,
    },

    /** What a change does, and to whom. */
    effects: {
        fee: 'Executions that open from then on. Their creators get the rest of the price. Open executions keep their fee.',
        minPrice: 'Agents with a lower price take no new calls until their creators raise it.',
        window: 'Executions that open from then on. The collateral of an agent stays locked for as long.',
        bond: 'Disputes that callers raise from then on. Open disputes keep their bond.',
        grace: 'Executions that open from then on: the time between an agent’s time-out and the refund.',
        penalty: 'Disputes about executions that open from then on.',
        tier: 'Agents whose creators list or resume them, or raise their price, from then on. Other agents stay as they are.',
    },

    problems: {
        fee: 'The fee is 0 to 5 percent.',
        minPrice: (most: string) => `The lowest price is 0.000001 to ${most} USDC.`,
        minPriceFee: (least: string) =>
            `The fee of this price is less than 0.000001 USDC. The lowest price for this fee is ${least} USDC.`,
        window: 'Callers can raise disputes for 3 to 14 days.',
        bond: (most: string) => `The bond is at most ${most} USDC.`,
        grace: 'The settlement has 0 s to 1 d.',
        penalty: 'The limit is 1 to 100 times the amount paid.',
        tierPrice: 'Higher than the price of the tier before.',
        tierCollateral: 'At least the collateral of the tier before.',
    },

    roles: {
        table: 'Roles of the marketplace',
        role: 'Role',
        holder: 'Holder',
        power: 'May',
        changes: 'Changes',
        announcedBefore: (days: number) => `Announced ${plural(days, 'day')} before`,
        atOnceByAdmin: 'At once, by the admin',
        admin: {
            name: 'Admin',
            power: 'Verifies creators, stops and resumes new calls, new listings and agents, announces parameters and roles. Never touches money in escrow.',
            changes: 'At once, when the nominated successor accepts',
            nominated: 'Nominated: ',
        },
        resolver: {
            name: 'Resolver',
            power: 'Decides disputes, within the limits of the program.',
            changes: (days: number) =>
                `Announced ${plural(days, 'day')} before. The admin can remove a resolver at once`,
            none: 'Disputes wait until a successor takes office.',
            since: (moment: string) => `In office since ${moment}`,
        },
        guardian: {
            name: 'Guardian',
            power: 'Stops new calls and new listings, and suspends an agent. Only the admin resumes them.',
        },
        gateway: {
            name: 'Gateway authority',
            power: 'Hands in signed results and failures, and nothing else.',
        },
        treasury: { name: 'Treasury owner', power: 'Receives the fees.' },
        insurance: {
            name: 'Insurance owner',
            power: 'Receives penalties. It is neither the treasury nor the resolver.',
        },
    },
} as const;
