// Command storefront shows what there is to buy.
package main

import (
	"fmt"
	"log"
	"net/http"

	"example.com/shop/libs/money"
)

func main() {
	http.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "One lamp: %v\n", money.Cents(4999))
	})
	log.Fatal(http.ListenAndServe(":8080", nil))
}
