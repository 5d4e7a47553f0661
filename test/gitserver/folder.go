package gitserver

import (
	"io/fs"
	"os"
	"path/filepath"
)

// walk collects the files of a local folder, but not its .git.
func walk(root fs.FS, folder, start string, files map[string]Content) error {
	return fs.WalkDir(root, start, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		full := filepath.Join(folder, filepath.FromSlash(p))
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(full)
			files[p] = Link(target)
			return err
		}
		raw, err := os.ReadFile(full)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files[p] = string(raw)
		if info.Mode()&0o100 != 0 {
			files[p] = Executable(string(raw))
		}
		return nil
	})
}
