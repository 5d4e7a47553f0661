package checkedfile_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/axle-cd/axle/internal/checkedfile"
	"github.com/axle-cd/axle/internal/errcode"
)

func TestASpoiltFileIsNotedAndRemoved(t *testing.T) {
	sum := sha256.Sum256([]byte("the bytes"))
	for on, tc := range map[string]struct {
		disk   string
		spoilt bool
	}{
		"as written": {"the bytes", false},
		"flipped":    {"the bytez", true},
		"cut":        {"the by", true},
		"empty":      {"", true},
		"longer":     {"the bytes and more", true},
	} {
		for how, read := range map[string]func(io.Reader) error{
			"read":   func(r io.Reader) error { _, err := io.ReadAll(r); return err },
			"copied": func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err },
		} {
			path := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(path, []byte(tc.disk), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			err = read(checkedfile.New(f, 9, hex.EncodeToString(sum[:])))
			_, gone := os.Stat(path)
			if errcode.Is(err, errcode.Unavailable) != tc.spoilt || errors.Is(gone, fs.ErrNotExist) != tc.spoilt || f.Close() != nil {
				t.Errorf("%s, %s: %v, %v", on, how, err, gone)
			}
		}
	}
}
