package world

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// folderDigest computes the content digest of a folder from its documented format
// (docs/spec/content-digest.md). It deliberately does not use the product's code: the
// checker must be independent of what it checks.
func folderDigest(root string) (string, error) {
	entries := map[string][]byte{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		kind, content := byte(0), []byte(nil)
		info, err := entry.Info()
		if err != nil {
			return err
		}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(file)
			if err != nil {
				return err
			}
			kind, content = 2, []byte(target)
		default:
			if content, err = os.ReadFile(file); err != nil {
				return err
			}
			if info.Mode()&0o100 != 0 {
				kind = 1
			}
		}
		sum := sha256.Sum256(content)
		entries[filepath.ToSlash(name)] = append([]byte{kind}, sum[:]...)
		return nil
	})
	if err != nil {
		return "", err
	}
	var names []string
	for name := range entries {
		names = append(names, name)
	}
	slices.SortFunc(names, strings.Compare)
	h := sha256.New()
	for _, name := range names {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(name))))
		h.Write([]byte(name))
		h.Write(entries[name])
	}
	return "axle1:" + hex.EncodeToString(h.Sum(nil)), nil
}
