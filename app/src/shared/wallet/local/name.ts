// The name of the built-in wallet, apart from its code, which only the local network loads.

export const LOCAL_WALLET = 'Local test wallet';
