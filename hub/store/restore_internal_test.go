package store

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// packedBackup is a stream as Backup writes it.
func packedBackup(t testing.TB, lines ...string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll([]byte(strings.Join(lines, "\n")+"\n"), nil)
}

// TestRowsOfABackupAreFlat holds that a row has values of a database, and that nothing else of a
// line is built.
func TestRowsOfABackupAreFlat(t *testing.T) {
	for text, want := range map[string]string{
		`["a",7,null,true]`: "[a 7 <nil> true] <nil>",
		`[1.5]`:             "[] strconv.ParseInt: parsing \"1.5\": invalid syntax",
		`{}`:                "[] json: cannot unmarshal object into Go value of type []interface {}",
	} {
		if row, err := rowValues([]byte(text)); fmt.Sprint(row, err) != want {
			t.Errorf("%s: %v %v, want %s", text, row, err, want)
		}
	}
	if row, err := rowValues([]byte("[[]" + strings.Repeat(",[]", 1<<20) + "]")); err == nil {
		t.Errorf("a million of lists are a row of %d", len(row))
	}
	long := strings.Repeat("x", 4<<20)
	if row, err := rowValues(fmt.Appendf(nil, "[%q]", long)); err != nil || len(row) != 1 || row[0] != long {
		t.Errorf("a long text: %d values, %v", len(row), err)
	}
}

// FuzzBackup reads a file that somebody gives to a restore, without a database.
func FuzzBackup(f *testing.F) {
	header := fmt.Sprintf(`{"format":%q,"version":%d}`, backupFormat, backupVersion)
	f.Add([]byte(nil))
	f.Add(packedBackup(f, header, `{"table":"settings","columns":["name","value"]}`, `["a","b"]`, `{"rows":1,"sha256":"x"}`))
	f.Add(packedBackup(f, header, "["+strings.Repeat("[],", 1<<16)+"[]]"))
	f.Add(packedBackup(f, header, strings.Repeat("[", 1<<16)))
	f.Add(packedBackup(f, strings.Repeat("x", 1<<20)))
	f.Fuzz(func(t *testing.T, packed []byte) {
		in, done, err := openBackup(bytes.NewReader(packed))
		if err != nil {
			return
		}
		defer done()
		if _, err := in.header(); err != nil {
			return
		}
		for {
			text, _, err := in.line()
			if err != nil {
				return
			}
			if row, err := rowValues(text); err == nil && len(row) > len(text) {
				t.Errorf("%d bytes are %d values", len(text), len(row))
			}
		}
	})
}
