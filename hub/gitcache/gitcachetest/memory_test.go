package gitcachetest_test

import (
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/gitcachetest"
)

func TestMemory(t *testing.T) {
	gitcachetest.RunStoreSuite(t, gitcachetest.MemoryFixture)
}
