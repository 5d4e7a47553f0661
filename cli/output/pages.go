package output

import (
	"bytes"
	"fmt"
	"io"
)

// Pages writes a list that each reads page by page. JSON and names are written while
// pages come, so that neither memory nor the first line waits for the last page; the
// other formats need the whole list. The text is that of List. When a page fails, the
// array is not ended, so that nobody takes a part for the whole.
func Pages[T any](p Printer, each func(page func([]T) error) error, name func(T) string, columns []Column[T]) error {
	switch {
	case p.names():
		return each(func(items []T) error { return List(p, items, name, columns) })
	case p.Format == JSON:
		return jsonPages(p, each)
	}
	var all []T
	if err := each(func(items []T) error {
		all = append(all, items...)
		return nil
	}); err != nil {
		return err
	}
	return List(p, all, name, columns)
}

// jsonPages writes one array.
func jsonPages[T any](p Printer, each func(page func([]T) error) error) error {
	some := false
	err := each(func(items []T) error {
		if len(items) == 0 {
			return nil
		}
		values := make([]any, len(items))
		for i, item := range items {
			values[i] = p.value(item)
		}
		var text bytes.Buffer
		if err := Write(&text, JSON, values); err != nil {
			return err
		}
		begin := "["
		if some {
			begin = ","
		}
		some = true
		body := bytes.TrimSuffix(bytes.TrimPrefix(text.Bytes(), []byte("[")), []byte("\n]\n"))
		_, err := fmt.Fprintf(p.Out, "%s%s", begin, body)
		return err
	})
	if err != nil {
		return err
	}
	end := "\n]\n"
	if !some {
		end = "[]\n"
	}
	_, err = io.WriteString(p.Out, end)
	return err
}
