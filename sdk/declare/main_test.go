package declare_test

import (
	"testing"

	"github.com/axle-cd/axle/hub/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }
