/** The key of the demo data: public, in the README, and good for the embedded MongoDB alone. */
export const DEMO_KEY = 'mos_demo00000000_ThisIsThePublicDemoKeyOfMarkets01JrrOk';
