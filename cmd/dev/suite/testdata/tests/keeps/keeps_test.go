package keeps

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestKeeps has a program kept, which runs on, and notes a line. Where it is kept is another
// folder in each run, and no input of the test.
func TestKeeps(t *testing.T) {
	folder, _ := syscall.Getenv("AXLE_KEEPER")
	conn, err := net.Dial("unix", filepath.Join(folder, "keeper"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, `{"Start":{"Dir":%q,"Binary":"/bin/sh","Args":["-c","echo $$ >> \"$0\"; read -r _ <>\"$1\"",%q,%q]}}`,
		folder, filepath.Join(os.Getenv("STATE"), "kept"), filepath.Join(os.Getenv("STATE"), "fifo"))
	if answer, err := bufio.NewReader(conn).ReadString('\n'); err != nil || strings.Contains(answer, "Error") {
		t.Fatal(answer, err)
	}
	if err := os.WriteFile(filepath.Join(folder, "notes"), []byte("a note of a test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}
