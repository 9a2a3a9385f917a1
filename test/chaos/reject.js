/** Loaded before the service (`node --import`): at SIGUSR2 a promise is rejected that nobody looks after. */
process.on('SIGUSR2', () => {
  void Promise.reject(new Error(process.env.REASON));
});
