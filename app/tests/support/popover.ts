// happy-dom has no popovers: what is in one is shown like any other element.

Object.assign(HTMLElement.prototype, { showPopover: () => undefined, hidePopover: () => undefined });
