"""What several views share: how their data is packed and sent; in the browser all but what is their own."""
