package gitcache_test

// hubEnv makes this binary a hub process.
const hubEnv = "AXLE_TEST_HUB"

func hubMain(string) int { return 1 }
