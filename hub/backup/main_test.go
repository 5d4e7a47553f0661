package backup_test

import (
	"testing"

	"github.com/axle-cd/axle/hub/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }
