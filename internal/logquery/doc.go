// Package logquery is one model of a query for logs, and what VictoriaLogs and Loki make
// of it.
//
// Nobody's query language reaches a store: what people write is the model, or the part of
// LogQL that the model has (matchers of streams and filters of lines), and each text of it
// becomes one quoted literal. The namespaces that a person sees are a condition beside all
// others, and Decode leaves out each line of another namespace whatever the store answers.
// hub/observe asks the stores.
//
// Invariants: an answer becomes at most 32 MiB in memory, and what is left out is
// counted; a line is one of podlogs, with its bounds.
package logquery
