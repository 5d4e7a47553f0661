package static

import "io/fs"

// textFont is the console's font for text, with the hash of its content.
const textFont = assets + "inter-latin-wght-normal-*.woff2"

// Font returns the font for text of the console's files, for pages beside the console; nil if
// the build has none.
func Font(files fs.FS) []byte {
	if files == nil {
		return nil
	}
	found, err := fs.Glob(files, textFont)
	if err != nil || len(found) == 0 {
		return nil
	}
	font, err := fs.ReadFile(files, found[0])
	if err != nil {
		return nil
	}
	return font
}
