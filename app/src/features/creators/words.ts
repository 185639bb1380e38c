// Every text of the page of a creator that a user reads.

import { plural } from '../../shared/figures';

export const words = {
    title: 'Creator',
    address: 'creator address',
    verified: 'Verified creator',
    verifiedText: 'The marketplace has checked who this is.',
    notVerified: 'The marketplace has not checked who this is. A creator chooses the name alone.',
    resembles: 'This name looks like that of a verified creator, but it is another one',
    resemblesText: 'This creator is not verified. Check the address, not the name.',
    section: { record: 'the record', agents: 'the agents' },

    record: 'Record',
    unknown: '–',
    executions: 'Executions',
    success: 'Successful',
    time: 'Average answer time',
    disputed: (days: number) => `Disputed, last ${days} days`,
    disputedOf: (disputed: string, completed: string) => `${disputed} of ${completed}`,
    slashed: 'Taken by disputes',
    collateral: 'Collateral locked',
    since: 'Lists agents since',
    sinceAtLeast: (day: string) => `${day} or earlier`,
    closed: (count: number) => plural(count, 'closed agent'),
    closedRecord: (successful: number, failed: number) => `${successful} successful, ${failed} failed`,
    usdc: (amount: string) => `${amount} USDC`,
    partial: 'Executions, success and time are those of the agents that this page has read.',

    agents: (count: number) => plural(count, 'agent'),
    agent: 'agent',
    agentsTitle: 'Agents',
    caption: 'Agents of this creator',
    columns: {
        agent: 'Agent',
        price: 'Price (USDC)',
        trust: 'Trust (USDC)',
        executions: 'Executions',
        success: 'Success',
        time: 'Average time',
        record: 'Record',
    },
    recordLine: (executions: string, success: string) => `${executions} executions, ${success} successful`,
    paused: 'Paused',
    suspended: 'Suspended',
    pausedOfNewest: (count: number) => `Of paused agents, only those among the newest ${count} are shown.`,
    allAgents: (shown: number) => `These are the first ${shown}. Show all agents of this creator in the list`,
    none: 'This wallet has no agents',
    noneText: 'Nobody has listed an agent with this wallet, or all of them are closed.',
    noneShown: 'None of its agents can be called',
    noneShownText: (count: number) =>
        `It has ${plural(count, 'listing')}, but each is delisted, or its document cannot be read.`,
} as const;
