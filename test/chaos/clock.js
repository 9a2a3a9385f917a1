/**
 * Loaded before the service (`node --import`): at each SIGUSR2 its wall clock jumps, as a wrong time server
 * makes it, first an hour ahead, then an hour behind, then back to the truth.
 */
const HOUR_MS = 3_600_000;
const shifts = [HOUR_MS, -HOUR_MS, 0];
const TrueDate = Date;
let shiftMs = 0;

// Libraries know it by its name.
globalThis.Date = class Date extends TrueDate {
  constructor(...parts) {
    super(...(parts.length > 0 ? parts : [TrueDate.now() + shiftMs]));
  }

  static now() {
    return TrueDate.now() + shiftMs;
  }
};

process.on('SIGUSR2', () => {
  shiftMs = shifts.shift() ?? 0;
  process.stderr.write(`clock ${shiftMs}\n`);
});
