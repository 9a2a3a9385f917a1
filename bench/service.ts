/** The service, ended when the bench is gone however that ended. */
process.on('disconnect', () => process.exit(0));
await import('../src/main.js');
