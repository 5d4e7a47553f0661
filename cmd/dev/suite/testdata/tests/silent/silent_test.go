package silent

import (
	"fmt"
	"os"
	"testing"
)

// TestMain fails where no test does.
func TestMain(m *testing.M) {
	if code := m.Run(); code != 0 {
		os.Exit(code)
	}
	fmt.Println("a process is left")
	os.Exit(1)
}

func TestGood(t *testing.T) {}
