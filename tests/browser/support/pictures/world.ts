// A marketplace at one moment, as answers: what the dashboard asks the service and the node, and what they said. Pages
// that get these answers look the same every time.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Request } from 'playwright-core';

export const ROLES = ['Caller', 'Creator', 'Resolver', 'Admin'] as const;
export type Role = (typeof ROLES)[number];

export type Answer = { readonly status: number; readonly type: string; readonly body: string };

export type World = {
    /** The time of every page, in milliseconds since 1970. */
    now: number;
    wallets: Record<Role, string>;
    /** Addresses and ids that the pages have in their paths. */
    places: Record<string, string>;
    /** The keys are questions. If a role gets another answer than the first visitor, its key is `<role> <question>`. */
    answers: Record<string, Answer>;
};

const file = path.resolve(import.meta.dirname, '../../pictures/answers.json');

export function readWorld(): World {
    if (!existsSync(file)) throw new Error('There are no answers: CRTX_PICTURES=record makes them.');
    return JSON.parse(readFileSync(file, 'utf8')) as World;
}

/** Sorted, one answer a line, so that a difference can be read. */
export function writeWorld({ answers, ...rest }: World): void {
    const lines = Object.entries(answers)
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([question, answer]) => `${JSON.stringify(question)}: ${JSON.stringify(answer)}`);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, `${JSON.stringify(rest).slice(0, -1)},\n"answers": {\n${lines.join(',\n')}\n}}\n`);
}

/** The key of a request. It has no port; a call of the node is named by its method and parameters. */
export function questionOf(request: Request): string {
    const { pathname, search } = new URL(request.url());
    const text = request.postData();
    if (request.method() !== 'POST' || text === null) return `${request.method()} ${pathname}${search}`;
    const { method, params } = JSON.parse(text) as { method?: string; params?: unknown };
    return method === undefined ? `POST ${pathname}${search} ${text}` : `rpc ${method} ${JSON.stringify(params)}`;
}

/** Endless, so it is neither kept nor answered. */
export const isStream = (request: Request): boolean => new URL(request.url()).pathname.endsWith('/events/stream');

/** Keeps the first answer, and another one for a role that gets a different body. Answers of the node differ only in their slot. */
export function keep({ answers }: World, role: Role | undefined, question: string, answer: Answer): void {
    const known = answers[question];
    if (known === undefined) answers[question] = answer;
    else if (role !== undefined && !question.startsWith('rpc ') && known.body !== answer.body) answers[`${role} ${question}`] ??= answer;
}
