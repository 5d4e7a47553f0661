// Package checkedfile reads files that are named by their SHA-256 and verifies the
// hash while reading, because the disk may have damaged them. It writes no files; the
// reader of LFS objects calls it.
package checkedfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"

	"github.com/axle-cd/axle/internal/errcode"
)

// File is an open file that is removed if it turns out to be damaged, so that it is
// fetched again. It must be read from its start and in order.
type File struct {
	*os.File
	size int64
	want string
	sum  hash.Hash
	read int64
}

// New returns f, which should have size bytes and the SHA-256 want, in hex.
func New(f *os.File, size int64, want string) *File {
	return &File{File: f, size: size, want: want, sum: sha256.New()}
}

// Read reads the file. It returns errcode.Unavailable at the end of a damaged file.
func (f *File) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	f.sum.Write(b[:n])
	f.read += int64(n)
	if (f.read >= f.size || errors.Is(err, io.EOF)) && hex.EncodeToString(f.sum.Sum(nil)) != f.want {
		return n, errors.Join(errcode.New(errcode.Unavailable, "the file %s is damaged on the hub's disk; it will be fetched again", f.want), os.Remove(f.Name()))
	}
	return n, err
}

// WriteTo implements io.WriterTo with Read: the file's own would not verify anything.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{f})
}
