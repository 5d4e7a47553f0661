// Package reference makes the pages of the reference: the kinds, the calls of the API, the
// Terraform provider and the commands of axle. They are made of the code that they describe, within
// seconds, and are not committed (ADR 147): `make pages` writes them into Folder, from where the
// docs site takes them beside the handwritten pages of docs, and the test of the documents'
// links makes them in memory.
//
// A page may have a handwritten head: the committed file of the same name in docs, up to Mark.
// Text after the mark is for readers of the repository, who do not have the generated part.
package reference

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/axle-cd/axle/test/apidocs"
	"github.com/axle-cd/axle/test/kinds"
)

const (
	// Folder is where the pages are written, below the root of the repository.
	Folder = "docs/site/generated"
	// Mark is the line of a handwritten head that the generated part begins at.
	Mark = "<!-- make pages replaces what follows. -->\n"
)

// Pages returns all pages by their path in the documentation, which is below docs for a
// handwritten page.
func Pages(ctx context.Context, root string) (map[string]string, error) {
	pages, err := kinds.Pages(root)
	if err != nil {
		return nil, err
	}
	api, err := apidocs.Pages(root)
	if err != nil {
		return nil, err
	}
	provider, err := providerPages(ctx, root)
	if err != nil {
		return nil, err
	}
	commands, err := commandPages(ctx)
	if err != nil {
		return nil, err
	}
	for _, more := range []map[string]string{api, provider, commands} {
		maps.Copy(pages, more)
	}
	return pages, addHeads(filepath.Join(root, "docs"), pages)
}

// addHeads puts the handwritten heads in docs in place of the titles of their pages.
func addHeads(docs string, pages map[string]string) error {
	return filepath.WalkDir(docs, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path == filepath.Join(docs, "site"):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(docs, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		head, _, marked := strings.Cut(string(text), Mark)
		page, generated := pages[name]
		switch {
		case marked && !generated:
			return fmt.Errorf("docs/%s is the head of a page that nothing generates: remove it, or its line %q", name, strings.TrimSpace(Mark))
		case generated && !marked:
			return fmt.Errorf("docs/%s is generated: remove the file, or keep a handwritten head that ends with the line %q", name, strings.TrimSpace(Mark))
		case generated:
			_, page, _ = strings.Cut(page, "\n\n")
			pages[name] = head + page
		}
		return nil
	})
}

// Write makes all pages and writes them into Folder in place of what is there.
func Write(ctx context.Context, root string) (int, error) {
	pages, err := Pages(ctx, root)
	if err != nil {
		return 0, err
	}
	folder := filepath.Join(root, Folder)
	if err := os.RemoveAll(folder); err != nil {
		return 0, err
	}
	for name, page := range pages {
		path := filepath.Join(folder, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(page), 0o644))
		if err != nil {
			return 0, err
		}
	}
	return len(pages), nil
}
