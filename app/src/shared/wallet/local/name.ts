// The name of the built-in wallet, apart from its code, which only the local network loads.

import { words } from '../../words';

export const LOCAL_WALLET = words.local.name;
