/**
 * The key of the demo data: public, in the README, and only ever put into the embedded MongoDB, which
 * production refuses.
 */
export const DEMO_KEY = 'mos_demo00000000_ThisIsThePublicDemoKeyOfMarkets01JrrOk';
