// Command orders adds up what was bought.
package main

import (
	"fmt"
	"log"
	"net/http"
	"sync/atomic"

	"example.com/shop/libs/money"
)

func main() {
	var total atomic.Int64
	http.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("POST /orders", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "Sold so far: %v\n", money.Cents(total.Add(4999)))
	})
	log.Fatal(http.ListenAndServe(":8080", nil))
}
