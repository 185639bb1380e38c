// Debian's Firefox, which Playwright cannot drive: WebDriver BiDi can. `CRTX_FIREFOX` names its program.

import { existsSync } from 'node:fs';
import { type Browser, launch } from 'puppeteer-core';

const PROGRAMS = ['/usr/bin/firefox-esr', '/usr/bin/firefox'];

/** `undefined`: none is installed, and none is named. A named program that is missing is a fault. */
export const FIREFOX = process.env['CRTX_FIREFOX'] ?? PROGRAMS.find((program) => existsSync(program));

export const startFirefox = (): Promise<Browser> => launch({ browser: 'firefox', executablePath: FIREFOX ?? '', headless: true });
