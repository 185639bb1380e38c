// Roles, parameters and announcements in one shape, from the chain or, where no node can be asked, from the service.

import { type Market, NOBODY } from '../../chain/market';
import type { Schemas } from '../../shared/api/client';
import { MAX_USDC } from '../../shared/money';
import type { MarketParameters } from './parameters';

export type AnnouncedRoleName = 'resolver' | 'treasuryOwner' | 'insuranceOwner';

export type MarketFacts = {
    /** New calls are stopped. */
    readonly isOpeningsPaused: boolean;
    /** New listings are stopped. */
    readonly isListingsPaused: boolean;
    readonly admin: string;
    /** `null`: nobody. */
    readonly pendingAdmin: string | null;
    readonly resolver: string | null;
    readonly resolverSince: number;
    readonly gatewayAuthority: string;
    readonly treasuryOwner: string;
    readonly insuranceOwner: string;
    readonly guardian: string | null;
    readonly parameters: MarketParameters;
    readonly announcedParameters: { readonly parameters: MarketParameters; readonly applyFrom: number } | null;
    readonly announcedRoles: {
        readonly roles: Readonly<Record<AnnouncedRoleName, string | null>>;
        readonly applyFrom: number;
    } | null;
    /** The time by the chain's clock, in seconds. */
    readonly now: number;
    /** Seconds by which it is ahead of this machine's. */
    readonly ahead: number;
};

const orNobody = (address: string): string | null => (address === NOBODY ? null : address);

export function factsOfChain({ config, now, ahead }: Market): MarketFacts {
    const [parametersFrom, rolesFrom] = [Number(config.parametersApplyFromUnixS), Number(config.rolesApplyFromUnixS)];
    const { admin, gatewayAuthority, treasuryOwner, insuranceOwner, parameters } = config;
    return {
        isOpeningsPaused: config.openingsPaused !== 0,
        isListingsPaused: config.listingsPaused !== 0,
        admin,
        pendingAdmin: orNobody(config.pendingAdmin),
        resolver: orNobody(config.resolver),
        resolverSince: Number(config.resolverSinceUnixS),
        gatewayAuthority,
        treasuryOwner,
        insuranceOwner,
        guardian: orNobody(config.guardian),
        parameters,
        announcedParameters:
            parametersFrom === 0 ? null : { parameters: config.announcedParameters, applyFrom: parametersFrom },
        announcedRoles:
            rolesFrom === 0
                ? null
                : {
                      roles: {
                          resolver: orNobody(config.announcedResolver),
                          treasuryOwner: orNobody(config.announcedTreasuryOwner),
                          insuranceOwner: orNobody(config.announcedInsuranceOwner),
                      },
                      applyFrom: rolesFrom,
                  },
        now,
        ahead,
    };
}

const seconds = (iso: string): number => Math.floor(Date.parse(iso) / 1_000);

export function factsOfService(network: Schemas['NetworkResponse'], now: number): MarketFacts {
    const { roles, announced_roles: announcedRoles, announced_parameters: announced } = network;
    return {
        isOpeningsPaused: network.openings_paused,
        isListingsPaused: network.listings_paused,
        admin: roles.admin,
        pendingAdmin: roles.pending_admin,
        resolver: roles.resolver,
        resolverSince: seconds(roles.resolver_since),
        gatewayAuthority: roles.gateway_authority,
        treasuryOwner: roles.treasury_owner,
        insuranceOwner: roles.insurance_owner,
        guardian: roles.guardian,
        parameters: parametersOf(network.parameters),
        announcedParameters: announced && {
            parameters: parametersOf(announced),
            applyFrom: seconds(announced.apply_from),
        },
        announcedRoles: announcedRoles && {
            roles: {
                resolver: announcedRoles.resolver,
                treasuryOwner: announcedRoles.treasury_owner,
                insuranceOwner: announcedRoles.insurance_owner,
            },
            applyFrom: seconds(announcedRoles.apply_from),
        },
        now,
        ahead: 0,
    };
}

const parametersOf = (answer: Schemas['NetworkParameters']): MarketParameters => ({
    minPrice: answer.min_price_usdc,
    disputeBond: answer.dispute_bond_usdc,
    disputeWindowS: BigInt(answer.dispute_window_seconds),
    settleGraceS: BigInt(answer.settle_grace_seconds),
    collateralTiers: answer.collateral_tiers.map((tier) => ({
        maxPrice: tier.max_price_usdc ?? MAX_USDC,
        collateral: tier.collateral_usdc,
    })),
    feeBps: answer.fee_bps,
    maxPenaltyMultiple: answer.max_penalty_multiple,
});
