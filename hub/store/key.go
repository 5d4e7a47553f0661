package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/seal"
)

const (
	// keyFile is the name of the key file in the data folder.
	keyFile = "hub.key"
	// settingKeyCheck holds a text that only the right key opens.
	settingKeyCheck = "key_check"
	keyCheck        = "axle"
)

// openKey opens the key file and checks that the database's secrets were sealed
// with it, before anything is sealed with another key.
func (s *Store) openKey(ctx context.Context, c Config) (err error) {
	if c.KeyFile == "" && c.DataDir == "" {
		return errcode.New(errcode.Invalid, "the hub needs a key file (--key-file) or a data folder (--data-dir)")
	}
	path := c.keyFile()
	sealed, err := s.Setting(ctx, settingKeyCheck)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); sealed != "" && errors.Is(err, fs.ErrNotExist) {
		return errcode.New(errcode.Conflict, "key file %s does not exist, and this database's secrets were sealed with one; put it there or name it (--key-file). It is hub.key in the data folder of the first replica", path)
	}
	if s.sealer, err = seal.OpenFile(path); err != nil {
		return err
	}
	return s.Write(ctx, func(ctx context.Context) error { return s.checkKey(ctx, path) })
}

// checkKey opens the text that only the right key opens, and creates it at the
// first start.
func (s *Store) checkKey(ctx context.Context, path string) error {
	sealed, err := s.Setting(ctx, settingKeyCheck)
	if err != nil {
		return err
	}
	if sealed == "" {
		return s.SetSetting(ctx, settingKeyCheck, s.sealer.Seal([]byte(keyCheck), settingKeyCheck))
	}
	if _, err := s.sealer.Open(sealed, settingKeyCheck); err != nil {
		return errcode.Hide(errcode.Conflict, err, "the key file %s is not the one that this database's secrets were sealed with; put that one there or name it (--key-file). It is hub.key in the data folder of the first replica", path)
	}
	return nil
}

// Key returns the text of the key file, for a copy elsewhere. It makes none.
func (c Config) Key() ([]byte, error) {
	if c.KeyFile == "" && c.DataDir == "" {
		return nil, errcode.New(errcode.Invalid, "the hub's key is in a key file (--key-file) or a data folder (--data-dir): name it")
	}
	text, err := os.ReadFile(c.keyFile())
	if errors.Is(err, fs.ErrNotExist) {
		err = errcode.New(errcode.NotFound, "key file %s does not exist; it is hub.key in the data folder of the first replica, or the file of --key-file", c.keyFile())
	}
	return text, err
}

// keyFile returns the path of the hub's key.
func (c Config) keyFile() string {
	if c.KeyFile != "" {
		return c.KeyFile
	}
	return filepath.Join(c.DataDir, keyFile)
}

// Sealer seals and opens secrets with the hub's key.
func (s *Store) Sealer() *seal.Sealer { return s.sealer }
